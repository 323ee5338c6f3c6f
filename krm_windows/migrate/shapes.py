"""What text looks as if it opened or closed something: a first look, which says where a closer one is due."""

import re

# The words that a command, a patch or a call of the API has for it.
_VERB = re.compile(r"\b(?:suspend|unsuspend|resume|paused)\b")
_ABOUT = re.compile(r"\b(?:flux|gotk|kubectl|kustomizations?|helmreleases?)\b|toolkit\.fluxcd\.io")
_PART = re.compile(r"\b(?:flux|gotk|kubectl|curl|patch|suspend|resume|paused)\b|\n")
# Two other ways to hold Flux back: its controllers are scaled down, or objects are taken out of its hands.
_SCALE = re.compile(r"\bscale\b")
_CONTROLLER = re.compile(r"\b(?:kustomize|helm|source)-controller\b")
_DISABLED = re.compile(r"toolkit\.fluxcd\.io/reconcile['\"]?[=:]\s*['\"]?(?:disabled|enabled)")
_QUICK = re.compile(
    rb"suspend|resume|paused|toolkit\.fluxcd\.io/reconcile|(?:kustomize|helm|source)-controller"
)


def may_turn(content: bytes) -> bool:
    """Whether a file has any of the words, so that it is worth reading."""
    return _QUICK.search(content) is not None


def mentions(script: str) -> bool:
    """Whether what a CronJob runs has to do with suspending: it is to be understood, or named."""
    if _holds_back(script):
        return True
    return _VERB.search(script) is not None and _ABOUT.search(script) is not None


def _holds_back(script: str) -> bool:
    """Whether a text scales the controllers of Flux, or takes objects out of their hands."""
    scaled = _SCALE.search(script) is not None and _CONTROLLER.search(script) is not None
    return scaled or _DISABLED.search(script) is not None


def turns(script: str) -> bool:
    """Whether a text is a script that suspends or resumes: a command and its verb, not a mention in passing.

    `flux … suspend` stands on one line; `kubectl … patch`, or `curl`, and then the field may stand on several.
    """
    if _holds_back(script):
        return True
    flux = kubectl = patches = False
    for found in _PART.finditer(script):
        word = found[0]
        if word == "\n":
            flux = kubectl = False
        elif word in ("flux", "gotk"):
            flux = True
        elif word == "kubectl":
            kubectl = True
        elif word == "curl":
            patches = patches or _ABOUT.search(script) is not None
        elif word == "patch":
            patches = patches or kubectl
        elif (flux and word != "paused") or (patches and word != "resume"):
            return True
    return False
