#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Debian packages of this tree, in build/deb: libbanyan0, libbanyan-dev, banyan and python3-banyan, checked by lintian. The files that git
# knows are copied there first, so that what lies about in the tree does not get in. Installs what building packages needs.
set -eu
cd "$(dirname "$0")/.."
scripts/setup.sh --build
scripts/setup.sh debhelper dh-python dpkg-dev lintian libucx-dev
for tool in dpkg-buildpackage dh dh_python3 lintian lowdown; do
    command -v $tool > /dev/null || { echo "deb: $tool is not installed" >&2 && exit 3; }
done
version=$(sed -n 's/^project(banyan VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
place=build/deb
tree=$place/banyan-$version
rm -rf "$place"
mkdir -p "$tree"
git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --create | tar --extract --directory "$tree"
mv "$tree/packaging/debian" "$tree/debian"
cat > "$tree/debian/changelog" << END
banyan ($version) unstable; urgency=medium

  * Version $version; see /usr/share/doc/banyan/CHANGELOG.md.gz.

 -- Banyan maintainers <maintainers@banyan.invalid>  $(date -R -u -d "@$(git log -1 --format=%ct)")
END
(cd "$tree" && dpkg-buildpackage --build=binary --no-sign --jobs="${JOBS:-$(nproc)}") > "$place/log" 2>&1 ||
    { tail -n 30 "$place/log" && exit 1; }
lintian --allow-root --fail-on error,warning --tag-display-limit 0 "$place"/*.changes
ls "$place"/*.deb
