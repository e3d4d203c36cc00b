#!/usr/bin/perl
use strict;
use warnings;
use IO::Handle;
my ($doors, $limit, @sshd) = @ARGV;
$0 = 'doorman';
# As pid 1 it inherits every orphan of the VM; the kernel buries those of whoever ignores them.
$SIG{CHLD} = 'IGNORE';
my $all = '';
my @doors;
for my $number (3 .. 2 + $doors) {
  open(my $door, '+<&=', $number) or die "no socket to listen on: $!\n";
  listen($door, 128) or die "cannot listen: $!\n";
  $door->blocking(0);    # who knocked may have left again
  vec($all, $number, 1) = 1;
  push @doors, $door;
}
my %guests;
while (1) {
  my $waiting = $all;
  next if select($waiting, undef, undef, undef) < 0;
  for my $door (grep { vec($waiting, fileno($_), 1) } @doors) {
    my $guest;
    if (!accept($guest, $door)) {
      select(undef, undef, undef, 0.05);    # out of descriptors or memory; it may pass
      next;
    }
    delete @guests{grep { !kill(0, $_) } keys %guests} if keys %guests >= $limit;
    if (keys %guests < $limit) {
      my $child = fork;
      if (defined $child && $child == 0) {
        $SIG{CHLD} = 'DEFAULT';
        setpgrp(0, 0);    # sshd signals its group when a login takes too long
        close $_ for @doors;
        open(STDIN, '<&', $guest) && open(STDOUT, '>&', $guest) or exit 1;
        close $guest;
        exec { $sshd[0] } @sshd;
        exit 1;
      }
      $guests{$child} = 1 if defined $child;
    }
    close $guest;
  }
}
