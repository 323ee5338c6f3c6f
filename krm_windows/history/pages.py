"""What looks back, as text, and accounts that are kept as one page of HTML."""

from collections.abc import Sequence

from krm_windows.history import account_text, simulation_text
from krm_windows.history.account import Account
from krm_windows.history.simulation import Simulation
from krm_windows.preview import stages
from krm_windows.preview.calendar import named
from krm_windows.preview.templating import asset, environment, text

_HERE = "krm_windows.history"


def account(of: Account) -> str:
    """Return the account."""
    page = environment(_HERE).get_template("account.html")
    return page.render(
        title=named(of.last),
        style=asset("past.css", _HERE),
        account=of,
        words=account_text,
        stages=stages,
    )


def account_as_text(of: Account, width: int, *, brief: bool) -> str:
    """Return an account; only rules and what people have written make a line wider.

    A `brief` one says what people did in this time, and not which hours were open.
    """
    return text(
        "account.txt",
        _HERE,
        account=of,
        title=named(of.last),
        brief=brief,
        width=width,
        words=account_text,
        stages=stages,
    )


def simulation_as_text(every: Sequence[Simulation], width: int) -> str:
    """Return a column of figures for each policy, in lines that are no wider than this, from 60 on.

    Below it stands what waited when.
    """
    # The same figure of each, side by side.
    figures = list(zip(*map(simulation_text.figures, every), strict=True))
    values = {"every": every, "width": width, "words": simulation_text, "figures": figures}
    return text("simulation.txt", _HERE, **values)
