"""Schedules as the CronJob controller reads them.

Robfig/cron v3 is the reference, and a difference is a bug.
"""
