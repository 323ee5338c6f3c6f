"""Many policies and many clusters.

Who has which policy, what is written for whom, and what is in the way.
"""
