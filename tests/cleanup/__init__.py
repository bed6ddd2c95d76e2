"""The ways in which a cleanup goes wrong in practice, played with real processes.

One scene an id of `tests/data/cases/cleanup.jsonl`; `test_table.py` holds that none is left out. No
manager, daemon or GPU is there: what answers for them is a stand-in, named in each scene.
"""
