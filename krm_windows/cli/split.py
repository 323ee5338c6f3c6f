"""`krm-windows split`: a base as one plain tree for each change class.

It is for Flux, which runs no plugin.
"""

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from krm_windows import rules
from krm_windows.checks import class_moves
from krm_windows.classes.model import Spec
from krm_windows.classes.partition import Partition
from krm_windows.cli import builds, destinations, inputs, output, report
from krm_windows.exit_codes import ExitCode
from krm_windows.function import change_classes
from krm_windows.inventory import about, resource_of
from krm_windows.krm import InputError, KubeObject, documents
from krm_windows.plurals import counted
from krm_windows.preview import placements
from krm_windows.render import KUSTOMIZATION, split
from krm_windows.results import Result, fails
from krm_windows.system.files import Folder
from krm_windows.system.kustomize import NAMES
from krm_windows.system.reading import is_kustomization, kustomizations

# A directory for each class.
_CLASSES = re.compile("[^/]+")


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "base",
        metavar="BASE",
        help="a kustomization, a directory or file of manifests, or - for a stream",
    )
    parser.add_argument(
        "--classes", required=True, metavar="FILE", help="the file of the ChangeClasses"
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        destinations.OPTION,
        type=destinations.directory,
        metavar="DIR",
        help="the directory to write",
    )
    what.add_argument(
        "--plan", action="store_true", help="print what goes where and why, but write nothing"
    )
    parser.add_argument(
        "--flux-kustomization",
        metavar="FILE",
        help=(
            "a Flux Kustomization with the path of DIR, used as the template for one per class, "
            "with its own name and path"
        ),
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; exit 1 with a diff if DIR is out of date",
    )
    builds.add_trust_option(parser)
    report.options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Split, or compare with what was split before, or show what would go where."""
    config = inputs.only(arguments.classes, "ChangeClasses")
    if arguments.output_dir is not None:
        # Before anything is built, as a build takes long.
        _apart(arguments.base, arguments.output_dir)
    spec, partition, results = change_classes.partition_of(config, _base(arguments))
    # `spec` is None where the classes are wrong; nothing can be placed then.
    if spec is not None and not arguments.plan:
        return _write(config, spec, partition, results, arguments)
    if spec is not None:
        output.show_words(placements.text(spec, partition))
    return _reported(config, results, arguments)


def _reported(
    config: KubeObject,
    results: Iterable[Result],
    arguments: argparse.Namespace,
    *done: str,
) -> ExitCode:
    """Print what was found, with file and line, and a line of what was done."""
    found = report.located(results, {arguments.classes: config}, arguments.base)
    code = report.show(found, strict=arguments.strict)
    if found or done:
        report.summarize(found, *done)
    return code


def _write(
    config: KubeObject,
    spec: Spec,
    partition: Partition,
    results: Iterable[Result],
    arguments: argparse.Namespace,
) -> ExitCode:
    file = arguments.flux_kustomization
    template = inputs.flux_kustomization(file) if file else None
    files = split.files(config.name, spec, partition, template)
    folder = Folder(arguments.output_dir, split.header(config.name).__eq__, inner=_CLASSES)
    # All reasons against writing are collected first; a person mends them in one go.
    found = [*results, *about(config, list(_kept(spec))), *_nameless(partition)]
    found += [*_elsewhere(template, arguments.output_dir), *_moved(template, folder.read(), files)]
    if fails(found, strict=arguments.strict):
        return _reported(config, found, arguments, "nothing written")
    if arguments.check:
        report.show(found, strict=arguments.strict)
        return report.compare(folder, files)
    classes = counted(len(spec.classes), "class")
    return _reported(config, found, arguments, classes, *report.changes(*folder.write(files)))


def _base(arguments: argparse.Namespace) -> list[KubeObject]:
    """Return what is to be applied.

    A kustomization as it is built, else the objects of files or a stream.
    """
    path: str = arguments.base
    if path == inputs.STDIN:
        return inputs.objects(inputs.STDIN)
    if is_kustomization(Path(path)):
        content = builds.built(path, arguments)
        # Unlike `verify`, this writes files that are applied: files as they are would be a guess.
        if content is None:
            raise InputError(f"{path} is a kustomization: install {NAMES} to build it")
        return documents(content)
    # `kustomize build` would make other objects of these files than are in them.
    for inner in sorted(kustomizations(Path(path))):
        raise InputError(
            f"{path}: is not a kustomization, but contains {inner}, which must be built: give "
            "its directory"
        )
    return inputs.resources(path)


def _apart(base: str, output: Path) -> None:
    """Refuse to write where the base is read from.

    The next run would take its own output for more of the base.
    """
    # A build reads only what its kustomization names, so the output may be beside it.
    if base == inputs.STDIN or is_kustomization(Path(base)):
        return
    if output.resolve().is_relative_to(Path(base).resolve()):
        raise InputError(f"{output}: must not be inside {base}, whose files are all read")


def _kept(spec: Spec) -> Iterator[Result]:
    # `keep` is for the function, which returns one class: `spec.keep: routine`.
    if spec.keep is not None:
        yield rules.FIELD_VALUE.result(
            "must not be set here: every class is written", path="spec.keep"
        )


def _nameless(partition: Partition) -> Iterator[Result]:
    for placed in partition.placements:
        if not placed.resource.name:
            message = (
                "is required: a file is named after it, and Flux does not support generateName"
            )
            yield placed.resource.result(rules.FIELD_REQUIRED, message, path="metadata.name")


def _elsewhere(template: KubeObject | None, output: Path) -> Iterator[Result]:
    """Warn of a template with a path that is not the end of where the split is written."""
    path = template.get("spec", "path") if template else None
    if template is None or not isinstance(path, str):
        return
    parts = PurePosixPath(path).parts
    # The source's root is not known here, so only the end is compared: `./apps` and `/repo/apps`.
    if parts and output.resolve().parts[-len(parts) :] != parts:
        message = f"must be the path of {output} in the source: the path of each class is below it"
        yield resource_of(template).result(
            rules.PATH_ELSEWHERE, message, path="spec.path", current=path
        )


def _moved(
    template: KubeObject | None,
    older: Mapping[str, bytes],
    newer: Mapping[str, bytes],
) -> Iterable[Result]:
    """Return the objects that change their class, unless nothing is pruned."""
    # With `prune: true` the old Kustomization would delete what the new one has just taken over.
    if template is not None and template.get("spec", "prune") is not True:
        return ()
    return class_moves.moved(_classed(older), _classed(newer))


def _classed(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the objects among the files of a split."""
    return {
        path: content
        for path, content in files.items()
        # `routine/….yaml` is an object; a file at the top and each kustomization.yaml are none.
        if "/" in path and not path.endswith(f"/{KUSTOMIZATION}")
    }
