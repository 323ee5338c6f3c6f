"""Calls of every command that `--help` shows, in a Flux repository with a policy.

Each is run as it stands by `tests/unit/cli/test_examples.py`.
"""

from collections.abc import Mapping, Sequence

EXAMPLES: Mapping[str, Sequence[str]] = {
    "init": (
        "krm-windows init --time-zone Europe/Berlin",
        """krm-windows init --time-zone Europe/Berlin --opens 'Mon 08:00' \\
    --closes 'Thu 17:00' ../fleet""",
    ),
    "migrate": ("krm-windows migrate . --output-dir ../migrated",),
    "set": (
        """krm-windows set windows/policy.yaml --dry-run \\
    --patch '{"spec": {"timeZone": "Europe/Paris"}}'""",
        """krm-windows set windows/policy.yaml --patch '{"spec": {"freezes": {
    "christmas": {"starts": "2026-12-24", "ends": "2027-01-01",
    "reason": "Christmas"}}}}'""",
        "krm-windows set windows/policy.yaml --patch @patch.json",
    ),
    "override": (
        "krm-windows override windows/policy.yaml open --for 2h --reason 'Urgent fix'",
        "krm-windows override windows/policy.yaml --list",
    ),
    "import": (
        "krm-windows import --holidays DE --subdivision BY --years 2027-2028",
        "krm-windows import company.ics --years 2027",
    ),
    "check": (
        "krm-windows check windows/policy.yaml",
        "krm-windows check --repo . --clusters 'clusters/*'",
    ),
    "diff": (
        "git show main:windows/policy.yaml | krm-windows diff - windows/policy.yaml",
        "krm-windows diff old.yaml new.yaml --days 28 -o markdown",
    ),
    "verify": (
        "krm-windows verify windows/rendered --policy windows/policy.yaml",
        """kustomize build clusters/north |
    krm-windows verify - --policy windows/policy.yaml""",
    ),
    "calendar": (
        "krm-windows calendar windows/policy.yaml --days 28",
        "krm-windows calendar windows/policy.yaml -o html > calendar.html",
    ),
    "explain": ("krm-windows explain windows/policy.yaml",),
    "state": (
        "krm-windows state windows/policy.yaml",
        "krm-windows state windows/policy.yaml --exit-code && ./deploy",
        "krm-windows state windows/policy.yaml --wait open --timeout 2h && ./deploy",
    ),
    "status": (
        "krm-windows status windows/policy.yaml --context north",
        "krm-windows status windows/policy.yaml -f objects.json",
    ),
    "pending": (
        "krm-windows pending windows/policy.yaml --context north --repo .",
        "krm-windows pending windows/policy.yaml --repo . --base HEAD~1",
    ),
    "simulate": ("krm-windows simulate windows/policy.yaml --repo . --since 2026-01-01",),
    "history": (
        "krm-windows history windows/policy.yaml --repo . --from 90d",
        "krm-windows history windows/policy.yaml --repo . -o html > history.html",
    ),
    "render": (
        (
            "krm-windows render windows/policy.yaml --resources . \\\n"
            "    --output-dir windows/rendered"
        ),
        "krm-windows render windows/policy.yaml --output-dir windows/rendered --check",
    ),
    "split": (
        "krm-windows split apps --classes classes.yaml --plan",
        "krm-windows split apps --classes classes.yaml --output-dir split",
    ),
    "install": ("krm-windows install --plugin-home ~/.config/kustomize/plugin",),
    "merge-gate": (
        "krm-windows merge-gate windows/policy.yaml --print-schedule",
        """krm-windows merge-gate windows/policy.yaml \\
    --config .github/merge-gate.yaml --forge gitea \\
    --url https://gitea.example.com/api/v1 --repo acme/fleet""",
    ),
    "serve": (
        "krm-windows serve --new-token ci --scopes read,write",
        "krm-windows serve --repo fleet.git --tokens tokens.txt",
    ),
    "completion": (
        "source <(krm-windows completion bash)   # in ~/.bashrc",
        'eval "$(krm-windows completion zsh)"     # in ~/.zshrc, below compinit',
        "krm-windows completion fish | source    # in ~/.config/fish/config.fish",
    ),
    "schema": (
        "krm-windows schema > windowpolicy.schema.json",
        "krm-windows schema --kind ChangeClasses -o reference",
    ),
}
