// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Numbers for people. */
#include "tool.h"

static char *scaled(double v, double base, const char * const *units,
		    size_t nr_units, char *text)
{
	size_t i = 0;

	while (i + 1 < nr_units && v >= base * 0.9995) {
		v /= base;
		i++;
	}
	snprintf(text, UNIT_MAX, i && v < 9.995 ? "%.2f%s" :
		 i && v < 99.95 ? "%.1f%s" : "%.0f%s", v, units[i]);
	return text;
}

char *format_bytes(double bytes, char text[UNIT_MAX])
{
	static const char * const units[] = {
		" B", " KiB", " MiB", " GiB", " TiB"
	};

	return scaled(bytes, 1024, units, 5, text);
}

char *format_count(double count, char text[UNIT_MAX])
{
	static const char * const units[] = { "", " k", " M", " G" };

	if (count < 9.995) {
		snprintf(text, UNIT_MAX, "%.2f", count);
		return text;
	}
	return scaled(count, 1000, units, 4, text);
}

char *format_ns(double ns, char text[UNIT_MAX])
{
	static const char * const units[] = { " ns", " us", " ms", " s" };

	return scaled(ns, 1000, units, 4, text);
}

char *format_duration(double seconds, char text[UNIT_MAX])
{
	unsigned long s = seconds < 0 ? 0 : (unsigned long)(seconds + 0.5);

	if (s >= 3600)
		snprintf(text, UNIT_MAX, "%lu:%02lu:%02lu", s / 3600,
			 s / 60 % 60, s % 60);
	else
		snprintf(text, UNIT_MAX, "%lu:%02lu", s / 60, s % 60);
	return text;
}
