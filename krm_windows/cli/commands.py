"""The commands, in the order in which `krm-windows --help` lists them."""

COMMANDS: dict[str, str] = {
    "init": "write a first policy for a cluster of a Flux repository",
    "migrate": "convert CronJobs that suspend and resume Flux objects into policies",
    "set": "change a policy's file with a patch, unless the result is invalid",
    "override": "open or close a policy for a while; list, end and prune overrides",
    "import": "print public holidays, or a calendar's events, as freezes or windows",
    "check": "check a policy over the coming years, or a whole repository",
    "diff": "show which hours a change to a policy opens and closes",
    "verify": "verify that a build's output contains the windows, RBAC and targets of a policy",
    "calendar": "show when policies will be open",
    "explain": "explain a policy in plain words",
    "state": "show whether a policy is open, by which rule, and until when; or wait for it",
    "status": "show the state of a policy's targets in a cluster, and what it should be",
    "pending": "show what waits for a policy to open: revisions, commits, objects, images",
    "simulate": "show which commits of a repository would have waited for a policy, and how long",
    "history": "show when a policy was open, from its versions in Git",
    "render": "write the windows of a policy as plain files",
    "split": "write a base as one directory of plain files per change class",
    "install": "install the legacy exec plugin of kustomize",
    "merge-gate": "set a status on open pull requests: whether a policy allows merging now",
    "serve": "serve the policies of a Git repository over HTTP, for reading and changing",
    "completion": "print a completion script for bash, zsh or fish",
    "schema": "print the JSON Schema, the KRMFunctionDefinition or the field reference",
}
"""What each does."""
