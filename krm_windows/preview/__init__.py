"""The plan to look at: what will be open when, by the evaluator that decides in the cluster."""
