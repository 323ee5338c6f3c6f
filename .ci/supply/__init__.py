"""What goes into a release, and how it is pinned: requirements, images, licences, SBOM, and the files themselves."""
