"""A configuration service: policies of a Git repository, read and changed over HTTP.

The files in Git stay the truth. What is read comes from the commit at the tip of a branch; what is
changed passes the checks of `set` and `override`, and becomes one commit with the caller as author.
"""
