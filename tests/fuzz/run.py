"""Fuzzing for as long as one likes, guided by coverage: `make fuzz`.

Each target runs in a process of its own, of limited memory, because libFuzzer ends its process
where it finds something; it is started again until its time is over.
"""

import argparse
import hashlib
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / ".cache/fuzz/corpus"
FINDINGS = ROOT / ".cache/fuzz/findings"
NAMES = ("function", "plugin", "policy", "resources", "calendar", "bytes")
# docs/reference/limits.md; what fuzzing itself takes is in it too.
MEMORY = 2 * 1024**3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--target", choices=("all", *NAMES), default="all")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("input", nargs="?", type=Path, help="a finding, to be shown again")
    arguments = parser.parse_args()
    if arguments.input:
        return _again(arguments.input, arguments.target)
    if arguments.worker:
        return _work(arguments.target, arguments.seconds)
    names = NAMES if arguments.target == "all" else (arguments.target,)
    before = set(FINDINGS.glob("*"))
    for name in names:
        _run(name, arguments.seconds // len(names))
    found = sorted(set(FINDINGS.glob("*")) - before)
    for path in found:
        print(f"found: {path.relative_to(ROOT)} (make fuzz FUZZ_INPUT={path.relative_to(ROOT)})")
    print(f"{len(found)} findings")
    return 1 if found else 0


def _run(name: str, seconds: int) -> None:
    end = time.monotonic() + seconds
    command = [sys.executable, __file__, "--worker", "--target", name]
    while (left := int(end - time.monotonic())) > 0:
        done = subprocess.run([*command, "--seconds", str(left)], check=False)
        if done.returncode == 0:
            return


def _work(name: str, seconds: int) -> int:
    import atheris  # noqa: PLC0415 - an extra, which only this needs

    with atheris.instrument_imports(include=["krm_windows"]):
        import mutations  # noqa: PLC0415 - what is imported here is watched
        import seeds  # noqa: PLC0415 - likewise
        import targets  # noqa: PLC0415 - likewise

    corpus = CORPUS / name
    corpus.mkdir(parents=True, exist_ok=True)
    FINDINGS.mkdir(parents=True, exist_ok=True)
    known = seeds.for_target(name)
    for text in known:
        (corpus / hashlib.sha256(text).hexdigest()[:16]).write_bytes(text)

    end = time.monotonic() + seconds

    def one(data: bytes) -> None:
        # libFuzzer looks at its time only once it has read the whole corpus.
        if time.monotonic() > end:
            sys.stderr.flush()
            os._exit(0)
        try:
            targets.TARGETS[name](data)
        except BaseException as error:
            _keep(name, data, error)
            raise

    def changed(data: bytes, longest: int, seed: int) -> bytes:
        text = mutations.mutate(data, Random(seed), known)  # noqa: S311 - repeatable is the point
        return text[:longest]

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    options = [
        f"-max_total_time={seconds}",
        f"-timeout={2 * targets.PATIENCE}",
        # By the clock, which a busy machine stretches: `bounded` counts the processor's time.
        f"-report_slow_units={2 * targets.PATIENCE}",
        "-max_len=100000",
        "-print_final_stats=1",
    ]
    artifacts = f"-artifact_prefix={FINDINGS}/{name}-"
    atheris.Setup([sys.argv[0], *options, artifacts, str(corpus)], one, custom_mutator=changed)
    atheris.Fuzz()
    return 0


def _keep(name: str, data: bytes, error: BaseException) -> None:
    path = FINDINGS / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    print(f"{path}: {type(error).__name__}: {str(error)[:500]}", file=sys.stderr)


def _again(path: Path, name: str) -> int:
    import targets  # noqa: PLC0415 - atheris has to see it first, where it is used

    chosen = path.name.partition("-")[0] if name == "all" else name
    targets.TARGETS[chosen](path.read_bytes())
    print("nothing is wrong with it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
