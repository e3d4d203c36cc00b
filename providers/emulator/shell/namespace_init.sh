#!/bin/bash
# It has four TPU chips, as most hosts of a pod do: files that can be held open, and no more.
#
# The mounts are private to the namespace and vanish with it. The folder is bound first and moved
# to its place last, since the mounts between may hide where it lies (/home, /tmp, /run, /root).
set -e
folder=$1 host=$2
shift 2
hub=/mnt
case $folder in /mnt/*) hub=/media ;; esac
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs $hub
mkdir $hub/vm
mount --bind "$folder" $hub/vm
mount -t proc proc /proc
own_devices() {
  mkdir $hub/dev && mount -t tmpfs -o mode=755 tmpfs $hub/dev || return 1
  local name
  for name in null zero full random urandom tty; do
    : > $hub/dev/$name && mount --bind /dev/$name $hub/dev/$name || return 1
  done
  mkdir $hub/dev/pts $hub/dev/shm && chmod 1777 $hub/dev/shm || return 1
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts $hub/dev/pts || return 1
  ln -s pts/ptmx $hub/dev/ptmx && ln -s /proc/self/fd $hub/dev/fd || return 1
  ln -s fd/0 $hub/dev/stdin && ln -s fd/1 $hub/dev/stdout && ln -s fd/2 $hub/dev/stderr || return 1
  for name in accel0 accel1 accel2 accel3; do
    : > $hub/dev/$name && chmod 666 $hub/dev/$name || return 1
  done
  mount --move $hub/dev /dev
}
# Root in it would read and write the machine's disks by the machine's /dev.
own_devices || {
  echo "no /dev of its own can be mounted here, and it does not get the machine's" >&2
  exit 1
}
mount --bind $hub/vm/home /home
mount --bind $hub/vm/root /root
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=755 tmpfs /var/log
mkdir -p /run/tpu-vm /run/sshd /run/lock
mount --move $hub/vm /run/tpu-vm
umount $hub
cd /
for file in passwd group shadow sudoers hosts hostname profile; do
  if [ -e /etc/$file ]; then mount --bind /run/tpu-vm/etc/$file /etc/$file; fi
done
if [ -e /usr/bin/systemctl ]; then mount --bind /run/tpu-vm/bin/systemctl /usr/bin/systemctl; fi
hostname "$host" 2>/dev/null || echo "$host" > /proc/sys/kernel/hostname
/run/tpu-vm/bin/make-keys /run/tpu-vm "$host" 3<&- 4<&-
/run/tpu-vm/bin/walls 3<&- 4<&-
weak=(/usr/bin/setpriv --bounding-set=@CAPABILITIES@ --inh-caps=-all --)
"${weak[@]}" /run/tpu-vm/bin/boot /run/tpu-vm 3<&- 4<&-
exec "${weak[@]}" "$@"
