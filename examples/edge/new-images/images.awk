# From `krm-windows pending --images` the patch that mounts each image, and so has it pulled.
NF == 1 {
  printf "- op: add\n  path: /spec/template/spec/volumes/-\n"
  printf "  value: {name: image-%d, image: {reference: \"%s\", pullPolicy: IfNotPresent}}\n", NR, $1
  printf "- op: add\n  path: /spec/template/spec/containers/0/volumeMounts/-\n"
  printf "  value: {name: image-%d, mountPath: /images/%d, readOnly: true}\n", NR, NR
}
