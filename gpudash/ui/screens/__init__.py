"""The screens: each an assembly of widgets."""
