/* SPDX-License-Identifier: Apache-2.0 */
#include <sinew/sinew.h>
#include <stdio.h>

int main(int argc, char** argv) {
    sinew_world* world = NULL;
    if (sinew_world_create(argc, argv, &world) != SINEW_OK) {
        fprintf(stderr, "%s\n", sinew_last_error());
        return 1;
    }
    sinew_communicator* comm = sinew_world_communicator(world);
    float one = 1;
    if (sinew_allreduce(comm, SINEW_IN_PLACE, 0, &one, 1, SINEW_F32, SINEW_SUM, NULL) != SINEW_OK)
        return 1;
    printf("sinew %s: sum %g of %d\n", sinew_version(), one, sinew_size(comm));
    return sinew_world_destroy(world) == SINEW_OK ? 0 : 1;
}
