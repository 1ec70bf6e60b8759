"""Why a topic has no route, or a broker is not there: facts in, a diagnosis out."""
