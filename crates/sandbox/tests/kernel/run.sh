#!/bin/sh
# The tests of control groups in a machine of their own: Debian's kernel, emulated, with
# nothing in it but the tests and the programs that they run. Many machines give a test
# no control group of the second version; this one always does.
#
# run.sh <folder of setup.sh> <profile>
set -eu
kernel=$1
profile=$2
log=$(mktemp)
cargo test --profile "$profile" -p butler-sandbox --test it --no-run 2>"$log" || { cat "$log"; exit 1; }
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
tests=$target/$(sed -n 's/.*Executable.*(\(.*\)).*/\1/p' "$log" | sed 's,.*target/,,' | tail -n 1)
helper=$(dirname "$(dirname "$tests")")/butler-sandbox-helper

root=$(mktemp -d)
trap 'rm -rf "$root" "$log"' EXIT
mkdir -p "$root/full/usr/bin" "$root/full/usr/lib" "$root/full/usr/lib64" "$root/full/etc"
mkdir -p "$root/full/proc" "$root/full/sys" "$root/full/dev" "$root/full/tmp" "$root/full/root"
ln -s usr/bin "$root/full/bin"
ln -s usr/lib "$root/full/lib"
ln -s usr/lib64 "$root/full/lib64"

# A file and the libraries it is linked with, below /usr as on a merged system.
put() {
    for file in "$1" $(ldd "$1" 2>/dev/null | grep -o '/[^ ]*' || true); do
        case $file in
        /bin/* | /lib/* | /lib64/*) to=$root/full/usr$file ;;
        *) to=$root/full$file ;;
        esac
        mkdir -p "$(dirname "$to")"
        [ -e "$to" ] || cp -L "$file" "$to"
    done
}
for name in bash dash cat seq sleep true env python3; do
    put "$(readlink -f /usr/bin/$name)"
done
library=$(/usr/bin/python3 -c 'import os; print(os.path.dirname(os.__file__))')
mkdir -p "$root/full$library"
(cd "$library" && find . -name '*.py' -not -path './test/*' -o -name '*.so') | while read -r file; do
    mkdir -p "$root/full$library/$(dirname "$file")"
    put "$library/$file"
done
ln -sf dash "$root/full/usr/bin/sh"
ln -sf "$(basename "$(readlink -f /usr/bin/python3)")" "$root/full/usr/bin/python3"
put "$tests"
put "$helper"
cp "$(command -v busybox)" "$root/full/usr/bin/busybox"
echo 'root:x:0:0::/root:/bin/sh' >"$root/full/etc/passwd"

cat >"$root/full/begin" <<END
#!/usr/bin/busybox sh
export PATH=/usr/bin HOME=/root
busybox mount -t proc proc /proc
busybox mount -t sysfs sys /sys
busybox mount -t devtmpfs dev /dev
busybox mount -t cgroup2 groups /sys/fs/cgroup
busybox ifconfig lo up
cd /root
"$tests" --exact cgroups::a_control_group_keeps_what_the_watch_cannot_count --nocapture
busybox poweroff -f
END
# A command's root cannot be left while it is the kernel's first one, so move out of that.
cat >"$root/init" <<'END'
#!/full/usr/bin/busybox sh
/full/usr/bin/busybox mkdir /new
/full/usr/bin/busybox mount -t tmpfs -o size=1500m new /new
/full/usr/bin/busybox cp -a /full/. /new/
exec /full/usr/bin/busybox switch_root /new /begin
END
chmod +x "$root/init" "$root/full/begin"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$log.cpio"
timeout 600 qemu-system-x86_64 -accel tcg,thread=multi -cpu max -m 4000 -smp 2 -nographic -no-reboot \
    -kernel "$kernel/vmlinuz" -initrd "$log.cpio" \
    -append "console=ttyS0 quiet rdinit=/init panic=1" </dev/null | tee "$log"
rm -f "$log.cpio"
! grep -q SKIPPED "$log" && grep -q 'test result: ok. 1 passed' "$log"
