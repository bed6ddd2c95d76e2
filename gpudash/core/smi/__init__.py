"""What nvidia-smi prints, read as strictly as the wire.

Text is turned into core values line by line. A token, an empty cell, a row of the wrong width,
a cut line and a missing row are unknown; none of them is ever 0. Nothing here runs anything:
`commands` builds argument lists, the rest reads what came back.

    cells → rows → ticks → answer        CSV of --query-gpu and --query-compute-apps
    documents → answer                   XML of -q -x
    endings                              error texts and exit codes
    table                                the way back: what nvidia-smi itself would print
"""
