#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# transfer.pl serve PORT              sends each who connects as many bytes as it asks for
# transfer.pl fetch HOST PORT BYTES   fetches them; prints bits per second, from first byte to last
use strict;
use warnings;
use IO::Socket::INET;
use Time::HiRes qw(sleep time);

$SIG{CHLD} = 'IGNORE';

sub serve {
    my ($port) = @_;
    my $listener = IO::Socket::INET->new(LocalPort => $port, Listen => 16, ReuseAddr => 1)
        or die "transfer: cannot listen on port $port ($!)\n";
    while (my $peer = $listener->accept) {
        next if fork;
        my $bytes = <$peer> // exit;
        my ($data, $sent) = ("x" x $bytes, 0);
        while ($sent < $bytes) {
            $sent += syswrite($peer, $data, $bytes - $sent, $sent) // die "transfer: $!\n";
        }
        exit;
    }
}

sub fetch {
    my ($host, $port, $bytes) = @_;
    my $peer;
    for (1 .. 100) {    # it may still be on its way up
        last if $peer = IO::Socket::INET->new(PeerAddr => $host, PeerPort => $port, Timeout => 2);
        sleep 0.05;
    }
    die "transfer: cannot connect to $host:$port ($@)\n" if !$peer;
    syswrite($peer, "$bytes\n");
    my ($got, $begin) = (0, time);
    while (my $count = sysread($peer, my $data, 1 << 20)) {
        $begin = time if !$got;
        $got += $count;
    }
    die "transfer: $got of $bytes bytes came\n" if $got != $bytes;
    printf "%.0f\n", 8 * $bytes / (time - $begin + 1e-9);
}

alarm 60;
my $what = shift // "";
if    ($what eq "serve" && @ARGV == 1) { serve(@ARGV) }
elsif ($what eq "fetch" && @ARGV == 3) { fetch(@ARGV) }
else                                   { die "transfer: serve PORT, or fetch HOST PORT BYTES\n" }
