export WAITIO_MASTER_PORT=7100 WAITIO_NPB=2 WAITIO_PBID=0 WAITIO_COMM_TYPE=socket
export COUPLER_JOB_ID=storm WAITIO_SCRATCH_DIR=$PWD
export WAITIO_MASTER_HOST=localhost    # $(hostname), if the other block runs on another host
waitio-serv -d -m $WAITIO_MASTER_HOST
mpiexec.openmpi -n 2 ./ocean
