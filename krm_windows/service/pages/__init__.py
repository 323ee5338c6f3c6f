"""Pages for people: the same policies, checks and commits as the REST interface, as HTML.

Every page is whole without JavaScript; what a caller's scopes do not allow is not offered.
"""
