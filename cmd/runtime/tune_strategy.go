package main

import "ringmaster/megakernel/tuner/trial"

// strategies are the ways to search, by name.
var strategies = map[string]trial.Strategy{strategySweep: trial.Sweep, strategySearch: trial.Search}
