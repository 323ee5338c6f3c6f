"""What waits for a window: for each target what is applied, what is offered, and what lies between.

Objects of a cluster say the revisions, a repository says what is in them.
"""
