"""What the function says of the kinds it takes: schemas, definitions and pages, from the models."""
