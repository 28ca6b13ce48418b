#!/usr/bin/env perl
# SPDX-License-Identifier: Apache-2.0
# communicator_rank.pl WORLD_FILE RANK SIZE HOST PROGRAM...: becomes a rank of a job that no launcher
# watches over, listening where the world file says. So that a host may vanish, and nobody acts on it.
use strict;
use warnings;
use Socket;

my ($world, $rank, $size, $host, @program) = @ARGV;
$^F = 1000;    # the socket stays open for the program
my $address = gethostbyname($host) or die "no host $host";
socket(my $listener, PF_INET, SOCK_STREAM, 0) or die "socket: $!";
setsockopt($listener, SOL_SOCKET, SO_REUSEADDR, pack('l', 1));
bind($listener, pack_sockaddr_in(7100, $address)) or die "bind: $!";
listen($listener, 64) or die "listen: $!";

# All listen before one calls, as agents see to it.
open(my $sign, '>', "$world-$rank") or die "$world-$rank: $!";
close($sign);
my $end = time + 20;
until ($size == grep { -e "$world-$_" } 0 .. $size - 1) {
    die 'the other ranks do not come' if time > $end;
    select(undef, undef, undef, 0.02);
}

%ENV = (
    %ENV,
    SINEW_WORLD_FILE => $world,
    SINEW_RANK       => $rank,
    SINEW_SIZE       => $size,
    SINEW_NODE_NAME  => $host,
    SINEW_LISTEN_FDS => fileno($listener),
    SINEW_TRANSPORT  => 'socket',
    SINEW_TIMEOUT    => '15s',
);
exec @program or die "$program[0]: $!";
