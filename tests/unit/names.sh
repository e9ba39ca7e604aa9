#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A name exists once in the library: no type is defined in two files, no function in two objects, and functions that are named
# after a type (banyan_TYPE_*) are declared in one module, that of the type. An object calls only functions of its own module
# and of those that src/modules.txt allows. What lies in an engines/ folder is a shared object of its own.
# Arguments: source folder, command line.
set -u
cd "$1" || exit 1
objects=$(dirname "$2")/CMakeFiles/banyan_objects.dir/src
failed=0

complain() {
    echo "$*"
    failed=1
}

# Code without comments, one line for each line of a file: FILE, a tab, the line.
code() {
    find src include -name '*.[ch]' ! -path '*/engines/*' -print0 | sort -z | xargs -0 awk '
        FNR == 1 { inside = 0 }
        {
            line = $0
            out = ""
            while (line != "") {
                if (inside) {
                    at = index(line, "*/")
                    if (!at) break
                    line = substr(line, at + 2)
                    inside = 0
                } else {
                    at = index(line, "/*")
                    if (!at) { out = out line; break }
                    out = out substr(line, 1, at - 1)
                    line = substr(line, at + 2)
                    inside = 1
                }
            }
            print FILENAME "\t" out
        }'
}

# TYPE FILE for each definition: "} NAME;", "struct NAME {" and typedefs of what is no struct. "typedef struct NAME NAME;"
# announces one that is defined elsewhere.
types() {
    code | sed -nE '
        s/^([^\t]*)\t\} (banyan_[a-z0-9_]+);.*/\2 \1/p
        s/^([^\t]*)\t(typedef )?(struct|union|enum) (banyan_[a-z0-9_]+) \{.*/\4 \1/p
        s/^([^\t]*)\ttypedef [^{]*\(\*(banyan_[a-z0-9_]+)\)\(.*/\2 \1/p
        /\ttypedef (struct|union|enum) /d
        s/^([^\t]*)\ttypedef [^{(]*[ *](banyan_[a-z0-9_]+);.*/\2 \1/p'
}

all=$(types | sort -u)

check_types() {
    local name
    for name in $(cut -d' ' -f1 <<< "$all" | uniq -d); do
        complain "the type $name is defined in" $(sed -n "s/^$name //p" <<< "$all")
    done
}

# NAME MODULE for each function that a header declares.
functions() {
    code | sed -nE 's|^src/([a-z]+)/[^\t]*\.h\t[^=]*\b(banyan_[a-z0-9_]+)\(.*|\2 \1|p' | sort -u
}

# A function belongs to the longest type whose name it begins with, if the type's own module names any after it.
check_prefixes() {
    local name module owner type
    while read -r name module owner type; do
        complain "$name, declared in src/$module, is named as if it were one of src/$owner for its type $type"
    done < <(awk '
        NR == FNR { if (split($2, part, "/") && part[1] == "src") owner[$1] = part[2]; next }
        {
            for (type = $1; sub(/_[a-z0-9]+$/, "", type) && type != "banyan" && !(type in owner);)
                continue
            if (type != "banyan" && owner[type] == $2)
                has_own[type] = 1
            else if (type != "banyan")
                others[$1 " " $2 " " owner[type] " " type] = type
        }
        END { for (line in others) if (others[line] in has_own) print line }' <(echo "$all") <(functions))
}

# SYMBOL MODULE KIND for each object whose source is still there.
symbols() {
    local object
    (cd "$objects" && find . -name '*.o') | sort | while read -r object; do
        [ ! -e "src/${object%.o}" ] || echo "$objects/$object"
    done | xargs nm -A | sed "s|^$objects/\./\([a-z]*\)/[^:]*:|\1 |" |
        awk 'NF == 4 && $3 ~ /^[TDBRC]$/ { print $4, $1, "defines" }
             NF == 3 && $2 == "U" && $3 ~ /^banyan_/ { print $3, $1, "uses" }'
}

check_symbols() {
    local line
    while read -r line; do
        complain "$line"
    done < <(awk '
        NR == FNR { sub(/:/, " :"); for (i = 1; i <= NF; i++) allowed[$1, $i] = 1; next }
        $3 == "defines" { if ($1 in home) print "the function " $1 " is defined in " home[$1] " and in " $2; home[$1] = $2 }
        $3 == "uses" { uses[$1 " " $2] = 1 }
        END {
            for (use in uses) {
                split(use, part, " ")
                if (part[1] in home && !((part[2], home[part[1]]) in allowed))
                    print "src/" part[2] " uses " part[1] " of src/" home[part[1]] ", which src/modules.txt does not allow"
            }
        }' <(grep -E '^[a-z]+:' src/modules.txt) <(symbols))
}

check_types
check_prefixes
if [ -d "$objects" ] && command -v nm > /dev/null; then
    check_symbols
else
    echo "no objects are looked at: there are none beside $2, or no nm"
fi
[ $failed = 0 ] && echo "every name exists once"
exit $failed
