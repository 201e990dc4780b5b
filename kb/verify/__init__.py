"""Run repro and fix of each case in the sandbox, judge the outcome, report it."""
