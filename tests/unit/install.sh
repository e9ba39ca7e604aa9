#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs what was built into a temporary prefix and uses it as a stranger would: a C program through pkg-config
# and through CMake, the exported symbols, man pages, completions. Arguments: source folder, command line.
set -u
source=$1
build=$(cd "$(dirname "$2")" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
prefix=$place/usr

fail() {
    echo "install: $*"
    [ ! -s "$place/log" ] || cat "$place/log"
    exit 1
}

cached() {
    sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}

cmake --install "$build" --prefix "$prefix" > "$place/log" 2>&1 || fail "cmake --install failed"
libdir=$prefix/$(cached CMAKE_INSTALL_LIBDIR)
[ -e "$libdir/libbanyan.so" ] || fail "there is no $libdir/libbanyan.so"
[ -e "$libdir/banyan/banyan-lp.so" ] || fail "there is no $libdir/banyan/banyan-lp.so"
: > "$place/log"

# The library: a SONAME, and the symbols of the map, all of them and no others.
readelf -d "$libdir/libbanyan.so" | grep -q 'SONAME.*\[libbanyan\.so\.[0-9]*\]' || fail "the library has no SONAME"
sed -n '/global:/,/local:/s/^ *\([a-z_0-9]*\);$/\1/p' "$source/src/banyan.map" | sort > "$place/wanted"
nm -D --defined-only "$libdir/libbanyan.so" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | sort > "$place/found"
diff "$place/wanted" "$place/found" > "$place/log" || fail "exported symbols (>) are not those of src/banyan.map (<)"
grep -ohE 'BANYAN_API .*[ *](banyan_[a-z_0-9]+)\(' "$source"/include/banyan/{banyan,plan,status}.h |
    sed -E 's/.*[ *](banyan_[a-z_0-9]+)\($/\1/' | sort > "$place/declared"
diff "$place/wanted" "$place/declared" > "$place/log" || fail "the headers declare (>) other functions than src/banyan.map (<)"

# A program, through pkg-config. It is sanitized as the library is.
sanitize=$(cached BANYAN_SANITIZE)
flags=${sanitize:+-fsanitize=$sanitize}
mkdir "$place/program"
cat > "$place/program/main.c" << 'END'
#include <banyan/plan.h>
#include <stdio.h>

int main(void)
{
    float numbers[3] = {1, 2, 3};
    banyan_comm *alone = NULL;
    banyan_status status = banyan_comm_init_all(&alone, 1, NULL);

    if (!status)
        status = banyan_allreduce(numbers, numbers, 3, BANYAN_FLOAT32, BANYAN_SUM, alone);
    printf("%d %s %g\n", banyan_version() - BANYAN_VERSION_CODE, banyan_status_string(status), (double)numbers[2]);
    banyan_comm_destroy(alone);
    banyan_topology_destroy(NULL); /* plan.h, too, is C99 and can be linked */
    return 0;
}
END
export PKG_CONFIG_PATH=$libdir/pkgconfig
compiler=$(cached CMAKE_C_COMPILER)
"$compiler" -std=c99 -Wall -Wextra -Wpedantic -Werror $flags $(pkg-config --cflags banyan) \
    "$place/program/main.c" -o "$place/with-pkg-config" $(pkg-config --libs banyan) > "$place/log" 2>&1 ||
    fail "the program does not build through pkg-config"
[ "$(env -u LD_LIBRARY_PATH "$place/with-pkg-config" 2>&1)" = "0 success 3" ] ||
    fail "the program built through pkg-config does not start without LD_LIBRARY_PATH"
[ "$(pkg-config --modversion banyan)" = "$(cached CMAKE_PROJECT_VERSION)" ] || fail "banyan.pc has the wrong version"

# The same program, through CMake.
cat > "$place/program/CMakeLists.txt" << 'END'
cmake_minimum_required(VERSION 3.16)
project(program C)
find_package(banyan 0.2 REQUIRED)
add_executable(program main.c)
target_link_libraries(program banyan::banyan)
END
cmake -S "$place/program" -B "$place/program/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$compiler" \
    -DCMAKE_C_FLAGS="$flags" > "$place/log" 2>&1 && cmake --build "$place/program/build" >> "$place/log" 2>&1 ||
    fail "the program does not build through find_package"
[ "$("$place/program/build/program" 2>&1)" = "0 success 3" ] || fail "the program built through find_package does not run"
: > "$place/log"

# The command line, its man pages and its completions.
[ -x "$prefix/bin/banyan" ] || fail "there is no bin/banyan"
[ "$(readlink "$prefix/bin/all_reduce_perf")" = banyan ] || fail "bin/all_reduce_perf is not a link to banyan beside it"
"$prefix/bin/all_reduce_perf" -b 1K -e 4K -f 4 -g 2 -t 1 -n 2 -w 1 -c 1 -d half -o sum -z 0 > "$place/log" 2>&1 ||
    fail "all_reduce_perf with nccl-tests' letters failed"
[ "$(grep -c ' float16 ' "$place/log")" = 2 ] || fail "all_reduce_perf does not print two rows"
"$prefix/bin/all_reduce_perf" -g 2 -G 1 > "$place/log" 2>&1 && fail "all_reduce_perf takes --cudagraph 1"
grep -q '^all_reduce_perf: --cudagraph 1: only 0$' "$place/log" || fail "all_reduce_perf does not say what is wrong with -G 1"
# The solver is found from the program's own place, which is not the prefix that was configured, and with DESTDIR in front.
"$prefix/bin/banyan" bound hosts:4+3+2 --active 0-3,5 > "$place/log" 2>&1 || fail "the installed command line does not find the solver"
DESTDIR=$place/staged cmake --install "$build" --prefix /opt/banyan > "$place/log" 2>&1 || fail "cmake --install with DESTDIR failed"
mv "$place/staged/opt/banyan" "$place/moved"
"$place/moved/bin/banyan" bound hosts:4+3+2 --active 0-3,5 > "$place/log" 2>&1 || fail "a tree that was moved does not find the solver"
: > "$place/log"
if [ "$(cached LOWDOWN)" != LOWDOWN-NOTFOUND ]; then
    for page in "$source"/docs/verbs/*.md; do
        name=man1/$(basename "$page" .md).1
        grep -q '^\.SH NAME' "$prefix/share/man/$name" 2> /dev/null || fail "there is no man page $name with a NAME"
    done
    for name in man3/libbanyan.3 man5/banyan-topology.5 man5/banyan-schedule.5; do
        grep -q '^\.SH NAME' "$prefix/share/man/$name" 2> /dev/null || fail "there is no man page $name with a NAME"
    done
fi
for file in bash-completion/completions/banyan zsh/site-functions/_banyan fish/vendor_completions.d/banyan.fish; do
    grep -q verify "$prefix/share/$file" 2> /dev/null || fail "the completion $file is missing or empty"
done
bash -n "$prefix/share/bash-completion/completions/banyan" || fail "bash cannot read its completion"

# The Python package finds the library that was installed with it, and 'banyan run' shows programs the package, from
# wherever they are started; a package that the user names comes first.
cat > "$place/program.py" << 'END'
import os, banyan, banyan.library
print(banyan.__version__, banyan.library.lib._name, os.environ["BANYAN_RANK"])
END
run_python() { # BANYAN PYTHONPATH
    (cd "$place" && LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=$2 PYTHONDONTWRITEBYTECODE=1 \
        "$1" run -n 1 /usr/bin/python3 "$place/program.py" 2>&1)
}
if command -v /usr/bin/python3 > /dev/null; then
    [ -e "$prefix/$(cached BANYAN_PYTHON_DIR)/banyan/torch/group.py" ] || fail "there is no package under $(cached BANYAN_PYTHON_DIR)"
    preload=
    case $sanitize in *address*) preload=$("$compiler" -print-file-name=libasan.so) ;; esac
    version=$(cached CMAKE_PROJECT_VERSION)
    found=$(run_python "$prefix/bin/banyan" "")
    [ "$found" = "$version $libdir/libbanyan.so.0 0" ] || fail "the Python package under 'banyan run' says: $found"
    found=$(run_python "$build/banyan" "$place/nothing")
    [ "$found" = "$version $build/libbanyan.so.0 0" ] || fail "the Python package under the build folder's 'banyan run' says: $found"
    mkdir -p "$place/own/banyan"
    echo 'raise SystemExit("the package of the user")' > "$place/own/banyan/__init__.py"
    found=$(run_python "$prefix/bin/banyan" "$place/own" | head -n 1)
    [ "$found" = "the package of the user" ] || fail "another package comes before that of PYTHONPATH: $found"
    [ "$(BANYAN_RANK=0 PYTHONPATH=$prefix/$(cached BANYAN_PYTHON_DIR) LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0 PYTHONDONTWRITEBYTECODE=1 \
        /usr/bin/python3 "$place/program.py" 2>&1)" = "$version $libdir/libbanyan.so.0 0" ] || fail "the Python package alone does not find the library"
fi

# Where the system's loader looks, it is told what is new instead, by ldconfig; a package (DESTDIR) leaves that to its own script.
mkdir "$place/bin"
cat > "$place/bin/ldconfig" << END
#!/bin/sh
case "\$*" in *-N*) printf '/lib: (from <builtin>:0)\n\tlibm.so.6 -> libm.so.6\n$prefix/lib: (from /etc/ld.so.conf:1)\n$libdir: (from /etc/ld.so.conf:2)\n' ;; *) echo called >> "$place/calls" ;; esac
END
chmod +x "$place/bin/ldconfig"
: > "$place/calls"
PATH=$place/bin:$PATH DESTDIR=$place/package cmake --install "$build" --prefix "$prefix" > "$place/log" 2>&1 || fail "cmake --install with DESTDIR failed"
[ ! -s "$place/calls" ] || fail "ldconfig is called for a package"
! grep -q rpath "$place/package$libdir/pkgconfig/banyan.pc" || fail "banyan.pc names a folder where the loader looks anyway"
PATH=$place/bin:$PATH cmake --install "$build" --prefix "$prefix" > "$place/log" 2>&1 || fail "cmake --install again failed"
[ -s "$place/calls" ] || fail "ldconfig is not called"
! pkg-config --libs banyan | grep -q rpath || fail "banyan.pc names a folder where the loader looks anyway"

# Other tests may install from this folder, too, and write the list anew.
if cp "$build/install_manifest.txt" "$place/" && ! grep -qv "^$prefix/" "$place/install_manifest.txt"; then
    DESTDIR='' "$source/scripts/uninstall.sh" "$place" > "$place/log" 2>&1 || fail "scripts/uninstall.sh failed"
    { find "$prefix" ! -type d; find "$prefix" -name banyan; } > "$place/log"
    [ ! -s "$place/log" ] || fail "this is left after 'make uninstall':"
fi
echo "what is installed can be used and removed"
