// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/arguments.hpp"
#include "collectives/channel.hpp"

/// The algorithms of the catalogue. Each one's idea, cost and source stand above its definition in
/// the collective's folder.
namespace sinew::collectives {

// Every rank gets the reduction of all ranks' buffers.
void lanes_allreduce(Channel& channel, Arguments const& call);
void lanes_rabenseifner_allreduce(Channel& channel, Arguments const& call);
void leaders_allreduce(Channel& channel, Arguments const& call);
void linear_allreduce(Channel& channel, Arguments const& call);
void rabenseifner_allreduce(Channel& channel, Arguments const& call);
void recursive_doubling_allreduce(Channel& channel, Arguments const& call);
void ring_allreduce(Channel& channel, Arguments const& call);
void tree_allreduce(Channel& channel, Arguments const& call);

// Every rank gets its block of the reduction of all ranks' buffers.
void lanes_reduce_scatter(Channel& channel, Arguments const& call);
void leaders_reduce_scatter(Channel& channel, Arguments const& call);
void linear_reduce_scatter(Channel& channel, Arguments const& call);
void recursive_halving_reduce_scatter(Channel& channel, Arguments const& call);
void ring_reduce_scatter(Channel& channel, Arguments const& call);

// Every rank gets the blocks of all ranks.
void bruck_allgather(Channel& channel, Arguments const& call);
void bruck_allgatherv(Channel& channel, Arguments const& call);
void lanes_allgather(Channel& channel, Arguments const& call);
void leaders_allgather(Channel& channel, Arguments const& call);
void linear_allgather(Channel& channel, Arguments const& call);
void recursive_doubling_allgather(Channel& channel, Arguments const& call);
void ring_allgather(Channel& channel, Arguments const& call);

// Every rank gets the buffer of the root.
void binomial_broadcast(Channel& channel, Arguments const& call);
void chain_broadcast(Channel& channel, Arguments const& call);
void leaders_broadcast(Channel& channel, Arguments const& call);
void leaders_chain_broadcast(Channel& channel, Arguments const& call);
void linear_broadcast(Channel& channel, Arguments const& call);
void scatter_allgather_broadcast(Channel& channel, Arguments const& call);

// The root gets the reduction of all ranks' buffers.
void leaders_reduce(Channel& channel, Arguments const& call);
void leaders_rabenseifner_reduce(Channel& channel, Arguments const& call);
void linear_reduce(Channel& channel, Arguments const& call);
void rabenseifner_reduce(Channel& channel, Arguments const& call);
void tree_reduce(Channel& channel, Arguments const& call);

// The root gets the blocks of all ranks.
void binomial_gather(Channel& channel, Arguments const& call);
void linear_gather(Channel& channel, Arguments const& call);

// Every rank gets its block of the root's buffer.
void binomial_scatter(Channel& channel, Arguments const& call);
void linear_scatter(Channel& channel, Arguments const& call);

// Every rank sends one block to each rank.
void bruck_alltoall(Channel& channel, Arguments const& call);
void linear_alltoall(Channel& channel, Arguments const& call);
void pairwise_alltoall(Channel& channel, Arguments const& call);

// Rank r gets the reduction of the buffers of ranks 0 to r (scan) or 0 to r - 1 (exscan).
void linear_scan(Channel& channel, Arguments const& call);
void linear_exscan(Channel& channel, Arguments const& call);
void recursive_doubling_scan(Channel& channel, Arguments const& call);
void recursive_doubling_exscan(Channel& channel, Arguments const& call);

// No rank leaves before all have entered.
void dissemination_barrier(Channel& channel, Arguments const& call);
void leaders_barrier(Channel& channel, Arguments const& call);
void tree_barrier(Channel& channel, Arguments const& call);

}  // namespace sinew::collectives
