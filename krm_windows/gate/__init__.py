"""The gate: decides whether a policy is open, and makes it so in a cluster.

Shipped verbatim; standard library only.
"""
