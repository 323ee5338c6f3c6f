"""The WindowPolicy.

What a user wrote, read into a typed model, with every error in the user's words.
"""
