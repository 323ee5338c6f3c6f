"""What whoever runs the service asks it: whether it lives, can answer, how much it did."""

from http import HTTPStatus

from fastapi import APIRouter
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from starlette.responses import PlainTextResponse, Response

from krm_windows.service import models
from krm_windows.service.admission import Anybody
from krm_windows.service.handlers import as_json
from krm_windows.service.problems import Problem
from krm_windows.service.routing import Route, operation_id
from krm_windows.service.windows import Reach

METRICS = "text/plain; version=0.0.4; charset=utf-8"
router = APIRouter(route_class=Route, tags=["operations"], generate_unique_id_function=operation_id)


@router.get("/healthz", response_model=models.Health)
async def get_health(call: Anybody) -> Response:
    """Say that the service is alive."""
    return as_json({"status": "alive", "commit": call.windows.snapshot.commit})


@router.get("/readyz", response_model=models.Health)
async def get_readiness(call: Anybody) -> Response:
    """Say whether the repository can be read and written."""
    health = call.windows.health()
    if not health.ready:
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, health.detail)
    found = {"status": "ready", "commit": health.commit}
    # Why it cannot be reached is not for everybody: its address may be in it.
    if health.remote is not Reach.NONE:
        found["remote"] = health.remote.value
    return as_json(found)


@router.get("/metrics", response_class=PlainTextResponse)
async def get_metrics(call: Anybody) -> Response:
    """Return metrics for Prometheus."""
    windows = call.windows
    health = windows.health()
    count = sum(len(stored) for stored in windows.snapshot.policies.values())
    gauges = {
        "krm_windows_policies": ("Policies that are served.", count),
        "krm_windows_unreadable_files": (
            "Files that may hold policies and cannot be read.",
            len(windows.snapshot.unreadable),
        ),
        "krm_windows_ready": ("Whether the repository can be read and written.", int(health.ready)),
    }
    # Unknown is neither: an alert waits for the first try.
    if health.remote in (Reach.REACHED, Reach.FAILED):
        text = "Whether the remote could be fetched when it was last tried."
        gauges["krm_windows_remote_reached"] = (text, int(health.remote is Reach.REACHED))
    registry = CollectorRegistry()
    for name, (text, number) in gauges.items():
        Gauge(name, text, registry=registry).set(number)
    body = generate_latest(registry) + generate_latest(call.service.log.registry)
    return Response(body, headers={"Content-Type": METRICS})
