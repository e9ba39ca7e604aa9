#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The verb bound, and plan --algo forest beside it: what they say to bad networks, and the rates in stages.
# Arguments: source folder, command line.
. "$1/tests/verb.sh"

network() { # NAME WORKERS, then lines of SRC DST BYTES-PER-S: cables between workers
    awk -v name="$1" -v workers="$2" 'BEGIN {
            printf "{\"format\":\"banyan-topology\",\"version\":1,\"name\":\"%s\",\"nodes\":[", name
            for (i = 0; i < workers; i++)
                printf "%s{\"name\":\"g%d\",\"kind\":\"worker\"}", (i > 0) ? "," : "", i
            printf "],\"links\":["
        }
        { printf "%s{\"src\":\"g%d\",\"dst\":\"g%d\",\"bytes_per_s\":%s,\"latency_s\":0,\"both\":true}",
                 (NR > 1) ? "," : "", $1, $2, $3 }
        END { print "]}" }' > "$1.json"
}

# Workers that no way joins, whoever is asked and in whichever stages.
printf '0 1 1e9\n2 3 1e9\n' | network apart 4
for verb in 'bound apart.json' 'bound apart.json --stages sequential' 'bound apart.json --stages overlap' \
    'plan apart.json --algo forest' 'plan apart.json --algo forest --stages sequential'; do
    # shellcheck disable=SC2086
    says 'active worker g2 cannot be reached from g0: the network is disconnected' 2 $verb
done
says 'link g0-g1: every byte must cross it once each way' 0 bound apart.json --active 0,1
says '100.0 % of the bound' 0 plan apart.json --algo forest --active 0,1 -o two.json
for verb in 'bound line:3' 'bound line:3 --stages pipelined' 'bound line:3 --stages sequential' \
    'bound line:3 --stages overlap' 'plan line:3 --algo forest' 'plan line:3 --algo forest --stages overlap'; do
    # shellcheck disable=SC2086
    says 'no path between active workers g0 and g2' 2 $verb --active 0,2 --relays none
done

# A cut without capacity.
printf '0 1 1e9\n1 2 0\n' | network closed 3
says 'closed.json: link g1-g2: bandwidth 0 is not a positive number' 2 bound closed.json
says 'closed.json: link g1-g2: bandwidth 0 is not a positive number' 2 plan closed.json --algo forest

# Nobody to add with.
says 'one active worker: nothing has to move' 0 bound dgx1 --active 3
says 'one active worker: nothing has to move' 2 bound dgx1 --active 3 --stages sequential
says '0 transfers in 0 rounds' 0 plan dgx1 --algo forest --active 3

# Ten thousand links of a thousandth of a byte per second.
awk 'BEGIN { for (i = 0; i < 5000; i++) print i % 100, (i + 1 + int(i / 100)) % 100, "1e-3" }' | network thin 100
says 'all-reduce       0.05051 B/s' 0 bound thin.json
says 'sum to at most 0.101 B/s' 0 bound thin.json --stages sequential
for relays in add forward none; do # each against its own
    says '100.0 % of the bound' 0 plan dgx1 --active 0-5 --algo forest --relays $relays
done
says '99.0 % of the bound' 0 plan thin.json --algo forest -o thin_plan.json

# Four machines of four GPUs, 100 Gbit/s inside and as said between every two GPUs of different ones. The sums of
# chi are 448, 640, 832 and 1600 Gbit/s in two stages of equal length, and half of that pipelined, which takes as
# long: C / chi for once, instead of 2 C / chi. C is 1.33 GB.
stages() { # GBIT-PER-S SUM-IN-GBIT-PER-S MILLISECONDS
    awk -v gbit="$1" 'BEGIN { for (i = 0; i < 16; i++) for (j = 0; j < i; j++)
        print j, i, (int(i / 4) == int(j / 4) ? 100 : gbit) * 1.25e8 }' | network mesh 16
    for how in sequential overlap pipelined; do
        "$banyan" bound mesh.json --stages $how --bytes 1330000000 --json > out || complain "bound --stages $how fails"
        awk -v how=$how -v sum="$2" -v ms="$3" '
            function field(name) { match($0, "\"" name "\": [0-9.e+-]+"); return substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4) + 0 }
            function is_far(a, b, share) { return a > b * (1 + share) || a < b * (1 - share) }
            { chi = (how == "pipelined" ? sum / 2 : sum) * 1.25e8
              bad = is_far(field("sum_of_chi_bytes_per_s"), chi, 1e-6) ||
                    is_far(field("bytes_per_s"), sum / 2 * 1.25e8, 1e-6) || is_far(field("seconds"), ms / 1e3, 2e-3) ||
                    !/"proven": true/ }
            END { exit bad || NR != 1 }' out || complain "mesh at $1 Gbit/s, $how: not $2 Gbit/s and $3 ms: $(cat out)"
    done
}
stages 10 448 47.5
stages 25 640 33.25
stages 40 832 25.58
stages 100 1600 13.3

# Idle workers help, and cuts alone prove 35.71 GB/s. A search lowers it, for a bound and for the plan that is compared with it.
damaged='torus:4x8,degrade=g19->g18:0.5' some=0,1,3,5,6,8,10,15,16,20,21,22,25,28,29,31
says 'all-reduce       35.19 GB/s' 0 bound $damaged --active $some
says 'all-reduce       35.19 GB/s' 0 bound $damaged --active $some --effort patient
says ' GB/s, limited by' 0 plan $damaged --active $some --algo forest --effort patient -o damaged.json
grep -Eq ': (99\.[0-9]|100\.0) % of the bound' out || complain "plan $damaged: not 99 % of the bound: $(head -c 300 out)"
says "only 'banyan tune' times plans" 2 bound hosts:2+3 --effort timed

# A switch that only forwards, with links down twice as wide as those up: what every cut allows, 18.75 GB/s, cannot be gathered.
narrow=switch:3,degrade=g0-\>s0:0.5,degrade=g1-\>s0:0.5,degrade=g2-\>s0:0.5
says 'all-gather       9.375 GB/s   64 MiB in at least 7.158 ms; tight: proven' 0 bound "$narrow" -o narrow.json
says 'narrow.json: proven' 0 verify narrow.json --topo "$narrow"
says "note: the bounds hold; that they are tight is the file's claim" 0 verify narrow.json --topo "$narrow"
sed 's/"tight":"proven"/"tight":"unknown"/g' narrow.json > modest.json
says 'modest.json: proven' 0 verify modest.json --topo "$narrow"
! grep -q note out || complain "a bound that claims no tightness has the note: $(cat out)"
sed 's/"potentials":\[\[3,-1\]\]/"potentials":[[3,-2]]/' narrow.json > lie.json
says 'the certificate proves that all-reduce cannot pass' 1 verify lie.json --topo "$narrow"

# Which bounds trees are known to reach.
says 'ms; tight: proven' 0 bound hosts:2+3
says 'all-reduce       35.19 GB/s   64 MiB in at least 1.907 ms; tight: proven' 0 bound $damaged --active $some
says 'all-reduce       26.79 GB/s   64 MiB in at least 2.505 ms; tight: unknown' 0 bound torus:11x10 --active 0-70

# Certificates of stages, in words and as files that verify checks.
for how in pipelined sequential overlap; do
    for spec in mesh:3x3 'dgx1,degrade=g0->g1:0.5' hosts:2+3 switch:5; do
        says 'whatever trees take it to a root and out again, a byte must cross them' 0 \
            bound "$spec" --stages $how -o certificate.json
        says 'certificate.json: proven' 0 verify certificate.json --topo "$spec"
        sed 's/"sum_of_chi_bytes_per_s": [^,]*/"sum_of_chi_bytes_per_s": 1000/' certificate.json > lie.json
        says '"sum_of_chi_bytes_per_s" is 1000, but the certificate and the network give' 1 verify lie.json --topo "$spec"
    done
done
says 'first stage, links h1->net and net->h1: whatever trees' 0 bound hosts:2+3 --stages sequential
sed 's/"second_stage_prices":/"second":/' certificate.json > half.json
says '"second_stage_prices" should be an array of [link, price]' 2 verify half.json --topo switch:5
sed 's/"prices_of_stages":.*/"prices_of_stages":null}/' certificate.json > bare.json
says 'has no "prices_of_stages", so nothing proves it' 1 verify bare.json --topo switch:5

exit $failed
