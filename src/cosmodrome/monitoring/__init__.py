"""What other programs need to watch our servers: alert rules for Prometheus, a dashboard for Grafana."""
