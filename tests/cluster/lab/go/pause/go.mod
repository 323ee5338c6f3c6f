module krm-windows.dev/cluster/pause

go 1.24
