"""`cosmodrome lint`: what is allowed in a broker.conf and does harm all the same."""
