"""What text looks as if it suspended or resumed something: a first look, before a closer one."""

import re

# The words that a command, a patch or a call of the API has for it.
_VERB = re.compile(r"\b(?:suspend|unsuspend|resume|paused)\b")
# What makes it likely that Flux is meant.
_ABOUT = re.compile(r"\b(?:flux|gotk|kubectl|kustomizations?|helmreleases?)\b|toolkit\.fluxcd\.io")
# The words of a script that matter, and the end of a line.
_PART = re.compile(r"\b(?:flux|gotk|kubectl|curl|patch|suspend|resume|paused)\b|\n")
# Two other ways to hold Flux back: its controllers are scaled down, or objects are taken out of
# its hands (`kustomize.toolkit.fluxcd.io/reconcile: disabled`).
_SCALE = re.compile(r"\bscale\b")
_CONTROLLER = re.compile(r"\b(?:kustomize|helm|source)-controller\b")
_DISABLED = re.compile(r"toolkit\.fluxcd\.io/reconcile['\"]?[=:]\s*['\"]?(?:disabled|enabled)")
# In bytes, for whole files: any word of the above.
_QUICK = re.compile(
    rb"suspend|resume|paused|toolkit\.fluxcd\.io/reconcile|(?:kustomize|helm|source)-controller"
)


def may_suspend(content: bytes) -> bool:
    """Whether a file has any of the words, so that it is worth reading."""
    return _QUICK.search(content) is not None


def mentions(script: str) -> bool:
    """Whether what a CronJob runs has to do with suspending: it is to be understood, or named."""
    if _holds_back(script):
        return True
    return _VERB.search(script) is not None and _ABOUT.search(script) is not None


def _holds_back(script: str) -> bool:
    """Whether a text scales the controllers of Flux, or takes objects out of their hands."""
    if _DISABLED.search(script) is not None:
        return True
    return _SCALE.search(script) is not None and _CONTROLLER.search(script) is not None


def is_script(script: str) -> bool:
    """Whether a text is a script that suspends or resumes, and does not just mention it.

    `flux … suspend` is on one line; after `kubectl … patch`, or `curl`, the field may be on any
    later one.
    """
    if _holds_back(script):
        return True
    calls_flux = _ABOUT.search(script) is not None
    # What has been met so far: on this line, but for a patch, whose body may be on the next ones.
    flux = kubectl = patches = False
    for found in _PART.finditer(script):
        match found[0]:
            case "\n":
                flux = kubectl = False
            case "flux" | "gotk":
                flux = True
            case "kubectl":
                kubectl = True
            case "curl":
                patches |= calls_flux
            case "patch":
                patches |= kubectl
            case verb if _is_meant(verb, flux=flux, patches=patches):
                return True
    return False


def _is_meant(verb: str, *, flux: bool, patches: bool) -> bool:
    """Whether `suspend`, `resume` or `paused` is what a command does, and no other word.

    The Flux CLI has no `paused`, and no object has a field `resume`.
    """
    if flux and verb != "paused":
        return True
    return patches and verb != "resume"
