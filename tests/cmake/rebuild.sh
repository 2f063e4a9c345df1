#!/usr/bin/env bash
# What an edit of the spec rebuilds: nothing for a comment, the right things for a number.
# Usage: rebuild.sh ninja|makefiles
. "$(dirname "$0")/common.sh"
case $1 in
  ninja) generator=Ninja ;;
  makefiles) generator="Unix Makefiles" ;;
  *) fail "no case '$1'" ;;
esac
cp -r "$(dirname "$0")/consumer" "$scratch/project"
chmod -R u+w "$scratch/project"
# A project of an old CMake: tilepost's functions keep to policies of their own.
[ "$1" = makefiles ] || sed -i 's/^cmake_minimum_required(.*/cmake_minimum_required(VERSION 3.12)/' "$scratch/project/CMakeLists.txt"
spec=$scratch/project/small.yaml
tree=$scratch/tree

# Everything a compiler or linker wrote, with its time.
products() {
  find "$tree" \( -name '*.o' -o -name '*.a' -o -name consumer -type f \) -printf '%P %T@\n' | sort
}
rebuild() { step "build after $1" "$CMAKE" --build "$tree"; }
expect_unchanged() {
  diff <(printf '%s\n' "$before") <(products) || fail "$1 rebuilt something"
}

build "$tree" -S "$scratch/project" -G "$generator" -Dtilepost_ROOT="$PREFIX"
before=$(products)
[ "$(printf '%s\n' "$before" | wc -l)" -ge 6 ] || fail "too few products: $before"
rebuild "no edit"
expect_unchanged "no edit"

sed -i 's/A comment that a test will edit/Edited/' "$spec"
echo '# and one more' >>"$spec"
rebuild "a comment"
expect_unchanged "a comment"
rebuild "a comment, again"
expect_unchanged "a comment, again"
touch "$spec"
rebuild "a touch"
for source in small wide bare; do
  [ "$(grep -c "Generating $source.cpp" "$scratch/log")" = 1 ] ||
    fail "$source.cpp was generated $(grep -c "Generating $source.cpp" "$scratch/log") times"
done
rebuild "nothing"
grep "Generating" "$scratch/log" && fail "something was generated for nothing"
expect_unchanged "a touch"

sed -i 's/k: 32/k: 40/; s/small::kK == 32/small::kK == 40/' "$spec" "$scratch/project/main.cpp"
rebuild "a number"
for object in small.cpp.o wide.cpp.o bare.cpp.o main.cpp.o; do
  diff <(printf '%s\n' "$before" | grep -F "$object") <(products | grep -F "$object") >/dev/null &&
    fail "$object was not rebuilt after a number changed"
done
step "run" "$tree/consumer"

# A renamed spec moves the outputs, so the project has to be configured again by itself.
sed -i 's/^name: small /name: tiny /' "$spec"
sed -i 's/small\.h/tiny.h/; s/small::/tiny::/g; s/small_program/tiny_program/; s/"small"/"tiny"/' \
  "$scratch/project/main.cpp"
rebuild "a new name"
step "run" "$tree/consumer"
[ -s "$tree/tilepost/tiny/tiny.cpp" ] || fail "no tiny.cpp"
echo PASS
