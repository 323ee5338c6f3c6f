"""How a policy fares in a cluster.

What its targets are, what they should be, and who keeps them so.
"""
