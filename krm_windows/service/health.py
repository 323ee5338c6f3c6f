"""What whoever runs the service asks it: whether it lives, can answer, how much it did."""

from http import HTTPStatus

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from starlette.responses import PlainTextResponse, Response

from krm_windows.service import models, routing
from krm_windows.service.admission import Anybody
from krm_windows.service.handlers import as_json
from krm_windows.service.problems import Problem

METRICS = "text/plain; version=0.0.4; charset=utf-8"
router = routing.router("operations")


@router.get("/healthz", response_model=models.Health)
async def get_health(call: Anybody) -> Response:
    """Say that the service is alive."""
    return as_json({"status": "alive", "commit": call.windows.snapshot.commit})


@router.get("/readyz", response_model=models.Health)
async def get_readiness(call: Anybody) -> Response:
    """Say whether the repository can be read and written."""
    windows = call.windows
    # Ready as long as the last look at the branch went well: a remote out of reach keeps nobody
    # from reading.
    if windows.problem:
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, windows.problem)
    found = {"status": "ready", "commit": windows.snapshot.commit}
    # Why it cannot be reached is not for everybody: its address may be in it.
    if windows.settings.remote is not None:
        found["remote"] = windows.reach
    return as_json(found)


@router.get("/metrics", response_class=PlainTextResponse)
async def get_metrics(call: Anybody) -> Response:
    """Return metrics for Prometheus."""
    windows = call.windows
    snapshot = windows.snapshot
    gauges = {
        "krm_windows_policies": ("Policies that are served.", len(list(snapshot.every()))),
        "krm_windows_unreadable_files": (
            "Files that may hold policies and cannot be read.",
            len(snapshot.unreadable),
        ),
        "krm_windows_ready": (
            "Whether the repository can be read and written.",
            not windows.problem,
        ),
    }
    if call.service.access.ways.tokens is not None:
        # A wrong line keeps nobody else out, so the service is ready with it.
        text = "Whether the file of tokens can be read, and every line of it."
        gauges["krm_windows_tokens_right"] = (text, call.service.access.is_right())
    # Unknown is neither: an alert waits for the first try.
    if windows.settings.remote is not None and windows.reach != "NotTried":
        text = "Whether the remote could be fetched when it was last tried."
        gauges["krm_windows_remote_reached"] = (text, windows.reach == "Reached")
    registry = CollectorRegistry()
    for name, (text, number) in gauges.items():
        Gauge(name, text, registry=registry).set(number)
    body = generate_latest(registry) + generate_latest(call.service.log.registry)
    return Response(body, headers={"Content-Type": METRICS})
