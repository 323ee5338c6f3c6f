"""What both kinds may say, as files of this package, which `make generate` writes."""

from importlib.resources import files

# A KRMFunctionDefinition (KEP-2906) is what catalogues of functions list.
FORMS = {"json": "schema.json", "definition": "definition.yaml", "reference": "md"}


def read(kind: str, form: str) -> str:
    """Return the JSON Schema, KRMFunctionDefinition or field reference of a kind."""
    return files(__name__).joinpath(f"{kind.lower()}.{FORMS[form]}").read_text(encoding="utf-8")
