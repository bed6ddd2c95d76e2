"""The demo: a simulated fleet that speaks the wire of real hosts, and says that it is simulated.

Everything it tells is a pure function of scenario, seed and demo time.
"""

from gpudash.sources.demo.past import Past, prehistory
from gpudash.sources.demo.scenario import DEFAULT, NAMES, Scenario, parse_scenario
from gpudash.sources.demo.source import demo_sources

__all__ = ["DEFAULT", "NAMES", "Past", "Scenario", "demo_sources", "parse_scenario", "prehistory"]
