# Runs once in a booting node. Makes the paths writable that systemd-nspawn mounts read-only and
# that a kubelet or runc must write.
set -eu

# Containers get their own groups in every hierarchy.
while read -r _ path type _; do
  case $type in cgroup | cgroup2) mount -o remount,bind,rw "$path" ;; esac
done </proc/mounts
case $(stat -f -c %T /sys/fs/cgroup) in tmpfs) mount -o remount,bind,rw /sys/fs/cgroup || true ;; esac

# The kubelet's OOM watcher opens /dev/kmsg.
[ -e /dev/kmsg ] || ln -s null /dev/kmsg

# runc and the CNI plugins write settings of a network namespace here.
mount --bind /proc/sys/net /proc/sys/net
mount -o remount,bind,rw /proc/sys/net

# The kubelet requires these values but cannot write them here. Therefore mount files with these
# values.
mkdir -p /run/sysctl
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
  kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
  file=/run/sysctl/$(echo "${setting%=*}" | tr / .)
  echo "${setting#*=}" >"$file"
  mount --bind "$file" "/proc/sys/${setting%=*}"
done
