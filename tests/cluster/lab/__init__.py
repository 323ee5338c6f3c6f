"""A Kubernetes cluster with Flux on one machine, built from published modules."""
