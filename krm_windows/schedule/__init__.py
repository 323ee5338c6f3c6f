"""Schedules as the CronJob controller reads them; robfig/cron v3 is the reference, and a difference is a bug."""
