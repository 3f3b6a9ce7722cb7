# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Print the reports in a kernel log, in the form of dmesg; exit status 0 when
# there is none that counts. Of those on the list "known" one line is said for
# each entry. A line within a known report that is itself a report counts.
#
#	awk -v machine=1 -v reports=FILE -v known=FILE -f faults.awk LOG

BEGIN {
	while ((getline line < reports) > 0)
		any = any (any ? "|" : "") "(" line ")"
	if (!any) {
		print "run: no patterns in " reports
		bad = 1
		exit 1
	}
	while ((getline line < known) > 0)
		if (line !~ /^(#|$)/)
			entry[++entries] = line
}

{ sub(/\r$/, "") }

$0 ~ any && !is_known($0) {
	if (!bad++)
		print "run: the kernel of machine " machine " reported:"
	show = 60
}

show > 0 && printed < 400 {
	show--
	printed++
	print "  " $0
}

END {
	for (i = 1; i <= entries; i++)
		if (times[i])
			print "run: machine " machine ": known, not counted (" \
				times[i] " times): " first[i] \
				"; lockdep is off from there on"
	exit bad > 0
}

function is_known(line,		i)
{
	sub(/^(<[0-9]+>)?\[ *[0-9.]+\] /, "", line)
	for (i = 1; i <= entries; i++)
		if (line ~ entry[i]) {
			if (!times[i]++)
				first[i] = $0
			return 1
		}
	return 0
}
