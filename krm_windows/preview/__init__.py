"""The plan to look at: what will be open when, told by the evaluator that decides in the cluster."""
