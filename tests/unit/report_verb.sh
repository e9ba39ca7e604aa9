#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The verb report: what it says, where it writes, and how it refuses. Arguments: source folder, command line.
. "$1/tests/verb.sh"
one_verb=report

says 'on hosts:2+3: 64 MiB in ' 0 hosts:2+3
says 'written to report.html (' 0 hosts:2+3
grep -q '<title>Banyan: all-reduce of 64 MiB on hosts:2+3</title>' report.html || complain 'report.html has no title'
says 'best of 2 algorithms' 0 dgx1 --algo ring,forest,ring --active 0-5 --bytes 1MiB -o six.html
grep -q '"active":\[0,1,2,3,4,5\]' six.html || complain 'six.html has other active workers'
says '{"format":"banyan-report","version":1,"collective":"allreduce","bytes":67108864,' 0 ring:4 --json
says '<!DOCTYPE html>' 0 ring:4 -o -

"$banyan" report ring:4 --quiet -o quiet.html > out 2>&1 || complain 'report --quiet fails'
[ -s out ] && complain "report --quiet says: $(cat out)"
[ -s quiet.html ] || complain 'report --quiet writes nothing'

"$banyan" plan hosts:2+3 --algo ring --format trace -o ring.json --quiet
says 'ring on hosts:2+3' 0 hosts:2+3 --algo ring --trace ring.json
grep -q '"measured_use"' report.html || complain 'the measured timeline is not in report.html'
says 'ring.json: the trace is of another schedule' 2 hosts:2+3 --algo double-tree --trace ring.json
says 'none.json: No such file' 2 hosts:2+3 --algo ring --trace none.json
says 'no algorithm is named rng (did you mean ring?)' 2 hosts:2+3 --algo rng
says 'no algorithm is named' 2 hosts:2+3 --algo ,
says 'no algorithm applies: ' 2 hosts:2+3 --algo swing
says 'name a network' 2
says 'x.png: a report is a page: name it .html' 2 ring:4 -o x.png
says 'x.html: --json writes the data, not the page; name the file .json' 2 ring:4 --json -o x.html
[ ! -e x.png ] && [ ! -e x.html ] || complain 'a name that is refused is written to'

[ $failed = 0 ] && echo "the verb report does what it should"
exit $failed
