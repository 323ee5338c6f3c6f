"""What goes into a release, and how it is pinned.

Requirements, images, licences, the SBOM, and the files themselves.
"""
