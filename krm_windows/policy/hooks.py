"""The part of the API that is about hooks: Jobs around the occurrences of a policy."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Literal, Self

from pydantic import Field, model_validator

from krm_windows import rules
from krm_windows.policy import fields
from krm_windows.policy.findings import Finding, RefusedError, raise_for
from krm_windows.policy.parts import Part
from krm_windows.policy.resources import Resources


class KeyRef(Part):
    """A key of a Secret or a ConfigMap in the namespace of the hooks."""

    name: fields.Name = Field(description="The object's name.", examples=["smoke-test"])
    key: fields.Text = Field(description="The key in the object.", examples=["token"])


class ValueFrom(Part):
    """Where a variable's value comes from."""

    secret_key_ref: KeyRef | None = Field(default=None, description="A Secret's key.")
    config_map_key_ref: KeyRef | None = Field(default=None, description="A ConfigMap's key.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse two sources or none."""
        if (self.secret_key_ref is None) == (self.config_map_key_ref is None):
            must = "must have exactly one of `secretKeyRef` and `configMapKeyRef`"
            raise RefusedError(Finding(rules.HOOK_VALUE, must))
        return self


# EnvVar of core/v1, without the sources that say something of the Pod itself.
class Variable(Part):
    """An environment variable of a hook, written as in a Pod."""

    name: fields.VariableName = Field(description="The variable's name.", examples=["TARGET_URL"])
    value: fields.AnyText | None = Field(default=None, description="Its value.")
    value_from: ValueFrom | None = Field(
        default=None, description="Where the value comes from, instead of `value`."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse two values or none."""
        if (self.value is None) == (self.value_from is None):
            must = "must have exactly one of `value` and `valueFrom`"
            raise RefusedError(Finding(rules.HOOK_VALUE, must))
        return self


class Hook(Part):
    """A Job around an occurrence."""

    image: fields.Image = Field(
        description="The image, pinned; it runs as a non-root user.",
        examples=["registry.example/smoke-test:1.4.0"],
    )
    command: tuple[fields.AnyText, ...] = Field(
        default=(), description="The program; default: the image's."
    )
    args: tuple[fields.AnyText, ...] = Field(default=(), description="The program's arguments.")
    env: tuple[Variable, ...] = Field(default=(), description="Environment variables.")
    # Whoever breaks into the image of a hook must not find a token of the API server.
    service_account_name: fields.Name | None = Field(
        default=None,
        description="The service account it runs as; default: none, and no token is mounted.",
    )
    resources: Resources = Field(
        default_factory=Resources.model_construct,
        description="Requests and limits of its Pod; "
        "default: requests of 10m cpu, 64Mi memory and no disk, limits of 1 cpu, 256Mi memory and "
        "256Mi disk.",
    )
    timeout: fields.Duration = Field(
        default=timedelta(minutes=10),
        json_schema_extra={"default": "10m"},
        description="How long it may take, from the creation of its Job.",
    )


class BeforeOpen(Hook):
    """What runs before the targets are opened."""

    on_failure: Literal["Abort", "Continue"] = Field(
        default="Abort",
        description="Whether its failure keeps the targets closed for the whole occurrence.",
    )
    rollback: Hook | None = Field(default=None, description="What runs once after it aborted.")


class AfterApply(Hook):
    """What checks the system once targets have applied a new revision while they are open."""

    on_failure: Literal["Close", "Continue"] = Field(
        default="Close",
        description="Whether its failure closes the targets for the rest of this occurrence.",
    )
    rollback: Hook | None = Field(
        default=None, description="What runs once after it closed the targets."
    )


class AfterClose(Hook):
    """What runs once the targets are closed and none reconciles any more, or `timeout` is over."""

    # What is closed stays closed: there is nothing that it could abort.
    on_failure: Literal["Continue"] = Field(
        default="Continue", description="Its failure opens and closes nothing."
    )


class Hooks(Part):
    """Jobs around every occurrence, that is every unbroken time in which the policy is open."""

    namespace: fields.Label = Field(
        description=(
            "Where they run: a separate namespace, not that of the policy, a target, Flux or "
            "Kubernetes."
        ),
        examples=["window-hooks"],
    )
    only_if: Literal["Always", "Pending"] = Field(
        default="Always",
        description=(
            "`Pending`: `beforeOpen` and `afterClose` are skipped for an occurrence if no "
            "closed target has, or may have, something to apply. This is checked when the "
            "window opens: what arrives later is applied without them."
        ),
    )
    before_open: BeforeOpen | None = Field(
        default=None, description="What runs before the targets are opened."
    )
    after_apply: AfterApply | None = Field(
        default=None,
        description="What checks the system after targets have applied a new revision.",
    )
    after_close: AfterClose | None = Field(
        default=None, description="What runs after the targets were closed."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse what would run nothing, or never."""
        raise_for(self._idle())
        return self

    def _idle(self) -> Iterator[Finding]:
        # A namespace alone would be prepared for nothing.
        if not any(self.each()):
            must = "must have `beforeOpen`, `afterApply` or `afterClose`"
            yield Finding(rules.HOOK_NONE, must)
        for name, hook in (("beforeOpen", self.before_open), ("afterApply", self.after_apply)):
            # A failure that is ignored leaves nothing to roll back.
            if hook and hook.rollback and hook.on_failure == "Continue":
                must = (
                    "must not be set with `onFailure: Continue`, which never aborts, so there is "
                    "nothing to roll back"
                )
                yield Finding(rules.HOOK_ROLLBACK, must, path=f"{name}.rollback")

    def each(self) -> Iterator[tuple[str, Hook]]:
        """Yield the hooks that there are, each with the path of its field below `hooks`."""
        for name, hook in (("beforeOpen", self.before_open), ("afterApply", self.after_apply)):
            if hook:
                yield name, hook
                # A hook with a Job of its own, and so with all that a hook may say.
                if hook.rollback:
                    yield f"{name}.rollback", hook.rollback
        if self.after_close:
            yield "afterClose", self.after_close
