"""Hosts over SSH, by asyncssh: one connection a host, one channel a program, shared jumps.

resolve      what `ssh -G` says of a host, and what this machine has
known        known_hosts files: trusted, unknown, changed, revoked
identities   private keys, certificates, agent
space        what all hosts of one run share
client       decides on host keys and answers prompts of one login
connect      logs in, through jump hosts, a few at a time
session      bytes of one program as a stream of events
runner       nvidia-smi over the same connection
problems     asyncssh's exceptions in plain words
"""
